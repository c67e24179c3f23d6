package org.opensearch.transport.grpc.spi;

/** The plugin for vectors implements this for the server's gRPC module, which is not published. */
public interface QueryBuilderProtoConverter {}
