"""Topic models. Each is one function: a `Sample` of phrases and a number of topics in, a `TopicFit` out.

base        what all of them share: sample, fit, assignment by nearest centroid, the vote of a document
clusters    K-means over phrases in context (UCTopic, section 4.3): the default
pntm        a neural topic model (PNTM)                 documents  clusters of whole documents (HS-GC)
registry    their names, and what a user requests ("pntm:40")
"""
