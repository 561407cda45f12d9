/* SPDX-License-Identifier: MIT */
/*
 * The table of options: one row says how an option is written, explained, read
 * and shown, so that --help, the parser and the report cannot disagree.
 */
#ifndef LBROUTE_REPLAY_OPTIONS_ROW_H
#define LBROUTE_REPLAY_OPTIONS_ROW_H

#include "options.h"

/** What is wrong with a value, after "--name: ". */
struct option_error {
    char text[1024];
};

/** What a row is, and what stands at `offset` in struct options. */
enum option_kind {
    OPTION_HEADING, /**< No option: `text` heads those that follow. */
    OPTION_REAL,    /**< double from `minimum` to `maximum`. */
    OPTION_WHOLE,   /**< uint64_t likewise; 0 is never shown. */
    OPTION_SWITCH,  /**< bool, set without an argument. */
    OPTION_TEXT,    /**< const char *, as given. */
    OPTION_SPECIAL  /**< Whatever `read` and `show` do. */
};

/** When the value in force belongs into the report. */
enum option_scope {
    OPTION_SILENT,      /**< Never. */
    OPTION_OF_TRACE,    /**< Where a trace is replayed. */
    OPTION_OF_WORKLOAD, /**< Where traffic is generated. */
    OPTION_OF_ADAPTERS, /**< Where requests ask for LoRA adapters. */
    OPTION_OF_EVENTS,   /**< Where a strategy reads KV events. */
    OPTION_OF_QUEUE,    /**< Where the call is about limits. */
    OPTION_OF_RESTART,  /**< Where the router is replaced. */
    OPTION_OF_ROUTERS,  /**< Where there are several routers. */
    OPTION_OF_DELTAS,   /**< Where they tell each other what they do. */
    OPTION_ALWAYS
};

struct option_row {
    const char *name;
    const char *argument; /**< NULL: takes none. */
    const char *text;     /**< Lines of help. */
    enum option_kind kind;
    enum option_scope scope;
    size_t offset;
    double minimum;
    double maximum;
    /** Reads the value (NULL without an argument). */
    bool (*read)(struct options *options, const char *value,
                 struct option_error *error);
    /** Writes the value in force; returns false if there is none. */
    bool (*show)(const struct options *options, char *value, size_t size);
};

/** The rows in the order of --help. */
extern const struct option_row option_rows[];
extern const size_t option_row_count;

/** Reads a value by its row. Returns false if it is wrong. */
bool option_read(const struct option_row *row, struct options *options,
                 const char *value, struct option_error *error);

/** Writes a value that belongs into the report. Returns false if it does not
 * or there is none. */
bool option_show(const struct option_row *row, const struct options *options,
                 char *value, size_t size);

/** Notes what is wrong; returns false. */
bool option_fail(struct option_error *error, const char *format, ...);

/** Parses a number within a range, or notes what is wrong with it. */
bool option_parse_real(const char *value, double minimum, double maximum,
                       double *number, struct option_error *error);

#endif
