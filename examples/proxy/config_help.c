/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "config_schema.h"

static void print_key(FILE *out, const struct config_key *key)
{
    fprintf(out, "%s\n    %s\n", key->path, key->text);
    if (key->kind == CONFIG_SECTION)
        return;
    fprintf(out, "    %s", config_kind_name(key->kind));
    if (config_kind_is_number(key->kind))
        fprintf(out, ", %.15g to %.15g", key->minimum, key->maximum);
    if (key->initial == NULL)
        fputs("; required", out);
    else if (key->initial[0] != '\0')
        fprintf(out, "; default %s", key->initial);
    fputc('\n', out);
}

void config_print_help(FILE *out)
{
    const struct config_key *key;

    for (size_t i = 1; (key = config_key_at(i)) != NULL; i++)
        print_key(out, key);
}
