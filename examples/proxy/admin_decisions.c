/* SPDX-License-Identifier: MIT */
#include "admin_parts.h"
#include "decision_json.h"
#include "gateway.h"
#include "journal.h"
#include "json_parts.h"
#include "labels.h"

#include <stdlib.h>

/* Most records of one answer. */
enum { RECORDS_MAX = 500 };

static json_t *one_record(const struct journal_record *record)
{
    json_t *object = json_object();

    json_put(object, "number", json_count(record->number));
    json_put(object, "unix_ms", json_integer(record->unix_ms));
    json_put(object, "model", json_words(record->model));
    json_put(object, "path", json_words(record->path));
    json_put(object, "attempt", json_count(record->attempt));
    decision_json_put(object, &record->decision, record->result);
    json_put(object, "decision_us", json_figure(record->decision_us));
    json_put(object, "outcome",
             record->result == LBROUTE_OK
                 ? json_string(label_outcome(record->outcome))
                 : json_null());
    json_put(object, "status",
             record->status ? json_integer(record->status) : json_null());
    json_put(object, "first_token_ms", json_figure(record->first_token_ms));
    json_put(object, "total_ms", json_figure(record->total_ms));
    json_put(object, "input_tokens", json_known(record->input_tokens));
    json_put(object, "cached_tokens", json_known(record->cached_tokens));
    json_put(object, "output_tokens", json_known(record->output_tokens));
    json_put(object, "explained", json_boolean(record->candidate_count > 0));
    return object;
}

/* The newest that fit, the oldest of them first. */
json_t *admin_get_decisions(struct admin_call *call)
{
    struct journal *journal = call->gateway->journal;
    uint64_t newest = journal_newest(journal);
    uint64_t after = admin_query_number(call, "after", 0);
    uint64_t first = newest + 1;
    json_t *array = json_array();

    while (first - 1 > after && newest - first + 1 < RECORDS_MAX &&
           journal_find(journal, first - 1) != NULL)
        first--;
    for (uint64_t number = first; number <= newest; number++)
        json_array_append_new(array, one_record(journal_find(journal, number)));
    return json_pack("{s:o, s:o}", "newest", json_count(newest), "decisions",
                     array);
}

json_t *admin_get_decision(struct admin_call *call)
{
    char *end;
    uint64_t number = strtoull(call->name, &end, 10);
    const struct journal_record *record = NULL;
    json_t *object, *array;

    if (*end == '\0')
        record = journal_find(call->gateway->journal, number);
    if (record == NULL)
        return admin_refuse(call, 404, "That decision is no longer kept.");
    object = one_record(record);
    array = json_array();
    for (size_t i = 0; i < record->candidate_count; i++)
        json_array_append_new(array, candidate_json(&record->candidates[i],
                                                    record->candidate_names[i],
                                                    record->decision.target));
    json_put(object, "explanation", array);
    return object;
}
