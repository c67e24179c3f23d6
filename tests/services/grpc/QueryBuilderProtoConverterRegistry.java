package org.opensearch.transport.grpc.spi;

/** Type of a parameter of what the plugin for vectors implements; never used. */
public interface QueryBuilderProtoConverterRegistry {}
