/* SPDX-License-Identifier: MIT */
/*
 * A YAML text as a tree of nodes. Aliases lead to nodes that were seen before,
 * so that the tree is a graph; it may have loops. Whoever walks over it has to
 * bound the walk.
 */
#ifndef LBROUTE_PROXY_CONFIG_DOCUMENT_H
#define LBROUTE_PROXY_CONFIG_DOCUMENT_H

#include "config.h"

#include <yaml.h>

/** Reads a text with one document. Returns false with an error; else delete it
 * by yaml_document_delete(). */
bool config_document_parse(const char *text, size_t len,
                           yaml_document_t *document,
                           struct config_error *error);

#endif
