package org.opensearch.protobufs;

/** Type of a parameter of what the plugin for vectors implements; never used. */
public class QueryContainer {
    public enum QueryContainerCase {}
}
