/* SPDX-License-Identifier: MIT */
/* What a configuration names outside itself: files, and variables of the
 * environment. */
#include "config_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool config_check_file(struct config_reader *reader, char *const *path)
{
    FILE *file;

    if ((*path)[0] == '\0')
        return true;
    file = fopen(*path, "rb");
    if (file == NULL) {
        struct config_quote quote = config_quote(*path);

        return config_fail_at(reader, path, "\"%s\": %s", quote.text,
                              strerror(errno));
    }
    fclose(file);
    return true;
}

bool config_check_certificate(struct config_reader *reader,
                              char *const *certificate, char *const *key)
{
    bool has_certificate = (*certificate)[0] != '\0';
    bool has_key = (*key)[0] != '\0';

    if (has_certificate != has_key)
        return config_fail_at(
            reader, has_certificate ? certificate : key,
            "certificate and key go together: the %s is missing",
            has_certificate ? "key" : "certificate");
    return config_check_file(reader, certificate) &&
           config_check_file(reader, key);
}

/* Neither what stands there nor the variable's value is shown: the first may
 * be a secret, put there by mistake. */
bool config_check_variable(struct config_reader *reader, char *const *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                  "abcdefghijklmnopqrstuvwxyz0123456789";
    const char *value = (*name)[0] != '\0' ? getenv(*name) : "-";

    if ((*name)[strspn(*name, letters)] != '\0')
        return config_fail_at(reader, name, "expected the name of a variable");
    return (value != NULL && value[0] != '\0') ||
           config_fail_at(reader, name, "the environment has no such variable");
}
