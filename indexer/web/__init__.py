"""The page and the API over a collection: `indexer.web.app.make_app`. Nothing is searched or mined here.

app          routes, errors, middleware                  params     parameters of requests, checked
api_read, api_topics, api_write, api_status              the API    pages/     one module per view, over templates/
schemas, bodies   what the API answers and takes         errors     problem details (RFC 9457)
auth, api_keys, middleware   keys, sessions, limits       tasks, task_work, topic_work   long work in a queue
shared       the collection that all requests share      metrics, report, downloads

In: HTTP requests. Out: calls of `indexer.collection.Collection`. Imported by `indexer.cli` alone.
"""
