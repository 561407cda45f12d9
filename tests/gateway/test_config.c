/* SPDX-License-Identifier: MIT */
/* Good and bad configurations: what is read, and where an error is said to
 * be. */
#include "support/test.h"

#include "config.h"
#include "config_schema.h"
#include "yaml_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TARGET "targets: [{name: a, url: \"http://h:1\", model: m}]\n"

#define ANYWHERE UINT_MAX

static const char *example;

static void refuse_bytes(const void *bytes, size_t len, unsigned line,
                         unsigned column, const char *words)
{
    struct config_error error;
    struct config *config = config_load(yaml_file_write(bytes, len), &error);

    assert_null(config);
    if ((line != ANYWHERE && (error.line != line || error.column != column)) ||
        strstr(error.text, words) == NULL)
        print_error("got %u:%u: %s\n", error.line, error.column, error.text);
    if (line != ANYWHERE) {
        assert_int_equal(error.line, line);
        assert_int_equal(error.column, column);
    }
    assert_non_null(strstr(error.text, words));
    assert_null(strchr(error.text, '\n'));
}

static void refuse(const char *text, unsigned line, unsigned column,
                   const char *words)
{
    refuse_bytes(text, strlen(text), line, column, words);
}

static void test_defaults(void **state)
{
    struct config *config = yaml_load(TARGET);
    const struct config_target *target = config->targets;

    (void)state;
    assert_string_equal(config->listen.address, "127.0.0.1");
    assert_string_equal(config->admin.address, "127.0.0.1");
    assert_string_equal(config->listen.key, "");
    assert_int_equal(config->limits.header_bytes, 65536);
    assert_int_equal(config->limits.body_bytes, 33554432);
    assert_int_equal(config->limits.connections, 8192);
    assert_int_equal(config->limits.stream_buffer, 262144);
    assert_near(config->timeouts.client, 60, 0);
    assert_near(config->timeouts.write, 120, 0);
    assert_near(config->timeouts.connect, 5, 0);
    assert_near(config->timeouts.first_byte, 600, 0);
    assert_near(config->timeouts.idle, 120, 0);
    assert_near(config->timeouts.drain, 30, 0);
    assert_int_equal(config->identity.session.count, 1);
    assert_string_equal(config->identity.session.names[0], "x-session-id");
    assert_int_equal(config->identity.client.count, 2);
    assert_string_equal(config->identity.client.names[0], "x-client-id");
    assert_string_equal(config->identity.client.names[1], "x-session-id");
    assert_int_equal(config->retries, 2);
    assert_string_equal(config->default_pool, "");
    assert_string_equal(config->header_prefix, "X-Lbroute-");
    assert_near(config->metrics_interval, 1, 0);
    assert_near(config->occupancy_interval, 2, 0);
    assert_string_equal(config->state_file, "");
    assert_near(config->state_interval, 60, 0);
    assert_string_equal(config->digest_key_env, "");
    assert_string_equal(config->cluster.redis, "");
    assert_string_equal(config->cluster.channel, "lbroute");
    assert_near(config->cluster.interval, 0.02, 0);
    assert_int_equal(config->cluster.delta_bytes, 8388608);
    assert_int_equal(config->decisions, 200);
    assert_near(config->explain_rate, 5, 0);
    assert_int_equal(config->pool_count, 0);
    assert_int_equal(config->adapter_count, 0);
    assert_int_equal(config->target_count, 1);
    assert_string_equal(target->pool, "");
    assert_string_equal(target->metrics_path, "/metrics");
    assert_near(target->weight, 1, 0);
    assert_int_equal(target->max_concurrency, 32);
    assert_int_equal(target->max_input_tokens, 0);
    assert_int_equal(target->kv_count, 0);
    config_free(config);
}

static void test_values(void **state)
{
    struct config *config = yaml_load(
        "\xef\xbb\xbf# with a byte order mark\n"
        "limits: {body_bytes: 1GiB, header_bytes: 2 KiB, connections: 7}\n"
        "timeouts: {connect: 2.5e-1, idle: 3}\n"
        "identity: {session_headers: [X-My-Session, y]}\n"
        "router: {seed: 18446744073709551615}\n"
        "pools:\n"
        "  - name: \"ünïcode\"\n"
        "    strategy: kv_aware\n"
        "    parameters: {kv_aware.capacity: 100, load.signal_ttl: 2.5}\n"
        "targets:\n"
        "  - &first\n"
        "    name: 123\n"
        "    pool: ünïcode\n"
        "    url: https://[::1]/base/\n"
        "    kv_events:\n"
        "      - {events: tcp://e:1, replay: tcp://e:2}\n"
        "      - events: ipc:///run/kv\n"
        "  - name: b\n"
        "    pool: ünïcode\n"
        "    url: http://h/\n"
        "    metrics: \"\"\n"
        "    weight: 0\n");
    const struct config_target *target = config->targets;

    (void)state;
    assert_int_equal(config->limits.body_bytes, 1073741824);
    assert_int_equal(config->limits.header_bytes, 2048);
    assert_int_equal(config->limits.connections, 7);
    assert_near(config->timeouts.connect, 0.25, 0);
    assert_string_equal(config->identity.session.names[0], "x-my-session");
    assert_string_equal(config->identity.session.names[1], "y");
    assert_true(config->seed == UINT64_MAX);
    assert_int_equal(config->pools[0].line, 7);
    assert_int_equal(config->pools[0].parameter_count, 2);
    assert_string_equal(config->pools[0].parameters[1].name, "load.signal_ttl");
    assert_near(config->pools[0].parameters[1].value, 2.5, 0);
    assert_string_equal(target[0].name, "123");
    assert_string_equal(target[0].pool, "\xc3\xbcn\xc3\xaf"
                                        "code");
    assert_true(target[0].tls);
    assert_string_equal(target[0].host, "::1");
    assert_int_equal(target[0].port, 443);
    assert_string_equal(target[0].base_path, "/base");
    assert_int_equal(target[0].kv_count, 2);
    assert_string_equal(target[0].kv[0].replay, "tcp://e:2");
    assert_string_equal(target[0].kv[1].events, "ipc:///run/kv");
    assert_string_equal(target[0].kv[1].replay, "");
    assert_false(target[1].tls);
    assert_int_equal(target[1].port, 80);
    assert_string_equal(target[1].base_path, "");
    assert_string_equal(target[1].metrics_path, "");
    assert_int_equal(target[1].line, 18);
    config_free(config);
}

static void test_nothing_given(void **state)
{
    (void)state;
    config_free(yaml_load("listen:\npools: ~\ntargets: []\nadapters: null\n"));
    config_free(yaml_load("# only a comment\n---\n"));
    refuse("", 0, 0, "empty");
    refuse("# only a comment\n", 0, 0, "empty");
}

static void test_syntax(void **state)
{
    (void)state;
    refuse("retries: 2\n\tlisten: {}\n", 2, 1, "");
    refuse("listen: {port: 1\n", 2, 1, "expected");
    refuse("retries: [\n", 2, 1, "");
    refuse("retries: *nowhere\n", 1, 10, "alias");
    refuse("a: &x 1\nb: &x 2\n", 2, 4, "anchor");
    refuse("retries: 2\n---\nretries: 3\n", 2, 1, "second document");
    refuse("[]\n", 1, 1, "expected a mapping");
    refuse("text\n", 1, 1, "expected a mapping");
    refuse_bytes("retries: 2\n# \xff\n", 15, 2, 3, "");
    refuse_bytes("retries:\0 2\n", 12, 1, 9, "");
}

static void test_keys(void **state)
{
    (void)state;
    refuse("retrys: 2\n", 1, 1,
           "unknown key \"retrys\"; did you mean "
           "\"retries\"");
    refuse("listen:\n  prot: 1\n", 2, 3,
           "listen: unknown key \"prot\"; did you mean \"port\"");
    refuse("qqqqqq: 2\n", 1, 1, "unknown key \"qqqqqq\"");
    refuse("<<: {retries: 2}\n", 1, 1, "unknown key");
    refuse("retries: 2\nretries: 2\n", 2, 1,
           "\"retries\" was given before, in line 1");
    refuse("listen: {port: 1, tls: {}, port: 2}\n", 1, 28, "port");
    refuse("{[a]: 2}\n", 1, 2, "a key must be a name");
    refuse("targets:\n  - url: http://h\n    model: m\n", 2, 5,
           "\"name\" is missing");
    refuse("pools: [{strategy: weighted}]\n", 1, 9, "\"name\" is missing");
    refuse("targets: [{name: a, url: \"http://h\", model: m,\n"
           "  kv_events: [{replay: \"tcp://h:1\"}]}]\n",
           2, 15, "\"events\" is missing");
}

static void test_types(void **state)
{
    (void)state;
    refuse("retries: two\n", 1, 10,
           "retries: expected a whole number, not "
           "\"two\"");
    refuse("retries: 2.0\n", 1, 10, "whole number");
    refuse("retries: \"2\"\n", 1, 10, "without quotes");
    refuse("retries: 02\n", 1, 10, "begins with a zero");
    refuse("retries: 0x2\n", 1, 10, "whole number");
    refuse("retries: [2]\n", 1, 10, "not a list");
    refuse("retries: {a: 2}\n", 1, 10, "not a mapping");
    refuse("retries:\n", 1, 9, "nothing is there");
    refuse("retries: !!int 2\n", 1, 10, "tags");
    refuse("listen: 8080\n", 1, 9, "listen: expected a mapping");
    refuse("listen: [8080]\n", 1, 9, "expected a mapping");
    refuse("pools: {name: a}\n", 1, 8, "expected a list");
    refuse("pools: [a]\n", 1, 9, "expected items");
    refuse("timeouts: {idle: .nan}\n", 1, 18, "number of seconds");
    refuse("timeouts: {idle: nan}\n", 1, 18, "number of seconds");
    refuse("timeouts: {idle: .inf}\n", 1, 18, "number of seconds");
    refuse("timeouts: {idle: inf}\n", 1, 18, "number of seconds");
    refuse("timeouts: {idle: 1e}\n", 1, 18, "number of seconds");
    refuse("timeouts: {idle: 5s}\n", 1, 18, "number of seconds");
    refuse("limits: {body_bytes: 1.5MiB}\n", 1, 22, "such as");
    refuse("limits: {body_bytes: 32 MB}\n", 1, 22, "such as");
    refuse("limits: {body_bytes: MiB}\n", 1, 22, "such as");
    refuse("identity: {session_headers: x-a}\n", 1, 29, "list of header");
    refuse("identity: {session_headers: [x a]}\n", 1, 30, "no name of a");
    refuse("identity: {session_headers: [\"\"]}\n", 1, 30, "no name of a");
    refuse("identity: {session_headers: [[x]]}\n", 1, 30, "not a list");
    refuse("prices: {file: \"a\\0b\"}\n", 1, 16, "zero byte");
    refuse("prices: {file: \"a\\nb\"}\n", 1, 16, "control");
    refuse("pools: [{name: a, parameters: [x]}]\n", 1, 31, "mapping of para");
    refuse("pools: [{name: \"\"}]\n", 1, 16, "must not be empty");
}

static void test_ranges(void **state)
{
    (void)state;
    refuse("retries: 16\n", 1, 10, "retries: 16 is not within 0 to 15");
    refuse("retries: -1\n", 1, 10, "-1 is not within 0 to 15");
    refuse("listen: {port: 65536}\n", 1, 16, "not within 0 to 65535");
    refuse("limits: {connections: 0}\n", 1, 23, "not within 1 to");
    refuse("limits: {body_bytes: 2GiB}\n", 1, 22, "not within");
    refuse("limits: {body_bytes: 18446744073709551615GiB}\n", 1, 22,
           "not within");
    refuse("router: {seed: 18446744073709551616}\n", 1, 16, "not within");
    refuse("timeouts: {idle: 0}\n", 1, 18, "not within 0.001 to");
    refuse("timeouts: {idle: 1e999}\n", 1, 18, "not within");
    refuse("signals: {metrics_interval: 0.01}\n", 1, 29, "not within 0.1");
    refuse("targets: [{name: a, url: \"http://h\", model: m,\n"
           "  weight: -1}]\n",
           2, 11, "targets[].weight: -1 is not within 0 to 1000000000");
    refuse("targets: [{name: a, url: \"http://h\", model: m, weight: 1e-7}]\n",
           1, 56, "0.000001");
}

static void test_names_have_a_bound(void **state)
{
    char text[400];
    char name[257] = "";

    (void)state;
    memset(name, 'n', 255);
    snprintf(text, sizeof text, "pools: [{name: %s}]\n", name);
    config_free(yaml_load(text));
    name[255] = 'n';
    snprintf(text, sizeof text, "pools: [{name: %s}]\n", name);
    refuse(text, 1, 16, "longer than 255 bytes");
}

static void test_references(void **state)
{
    (void)state;
    refuse("default_pool: chat\n", 1, 15, "there is no pool \"chat\"");
    refuse("targets:\n- name: a\n  url: http://h\n  pool: chat\n", 4, 9,
           "targets[].pool: there is no pool \"chat\"");
    refuse("targets:\n- name: a\n  url: http://h\n", 2, 3, "nobody can reach");
    refuse("pools: [{name: a}, {name: b}, {name: a}]\n", 1, 38,
           "\"a\" was given before, in line 1");
    refuse("targets:\n- {name: a, url: \"http://h\", model: m}\n"
           "- {name: b, url: \"http://h\", model: m}\n"
           "- {name: a, url: \"http://g\", model: m}\n",
           4, 10, "\"a\" was given before, in line 2");
    refuse(TARGET "adapters: [{name: x, model: n}]\n", 2, 29,
           "no target serves the model \"n\"");
    refuse(TARGET "adapters: [{name: m, model: m}]\n", 2, 19,
           "a target's model has this name");
    refuse(TARGET "adapters:\n- {name: x, model: m}\n- {name: x, model: m}\n",
           4, 10, "given before");
}

static void test_pools(void **state)
{
    (void)state;
    refuse("pools: [{name: a, strategy: best}]\n", 1, 29,
           "\"best\" is none of weighted, ");
    refuse("pools:\n- name: a\n  parameters:\n    queue.dept: 1\n", 4, 5,
           "no parameter \"queue.dept\"");
    refuse("pools:\n- name: a\n  parameters:\n    queue.depth: -1\n", 4, 18,
           "queue.depth: -1 is not within 0 to 1000000");
    refuse("pools:\n- name: a\n  parameters:\n    queue.enabled: 0.5\n", 4, 20,
           "expected a whole number");
    refuse("pools:\n- name: a\n  parameters:\n    queue.depth: x\n", 4, 18,
           "expected a number");
    refuse("pools:\n- name: a\n  parameters: {queue.depth: 1,\n"
           "    queue.depth: 1}\n",
           4, 5, "given before, in line 3");
}

static void refuse_target(const char *key, const char *value, unsigned column,
                          const char *words)
{
    char text[512];

    snprintf(text, sizeof text, "targets:\n- name: a\n  model: m\n%s%s: %s\n",
             strcmp(key, "url") == 0 ? "  " : "  url: http://h\n  ", key,
             value);
    refuse(text, strcmp(key, "url") == 0 ? 4 : 5, column, words);
}

static void test_addresses(void **state)
{
    static const char *const urls[] = {
        "h:1",         "ftp://h",      "http://",          "http://h:0",
        "http://h:x",  "http://h?q=1", "http://h/p#f",     "http://h:70000",
        "http://[::1", "/v1",          "http://u:pw@h/v1", "http://h h",
        "HTTPS//h",
    };

    (void)state;
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++)
        refuse_target("url", urls[i], 8, "targets[].url: ");
    refuse_target("metrics", "metrics", 12, "expected a path");
    refuse_target("occupancy", "https://h/x", 14, "expected a path");
    refuse_target("occupancy", "http://u:pw@h/x", 14, "no address");
    refuse_target("kv_events", "[{events: h}]", 24, "tcp:// or ipc://");
    refuse_target("kv_events", "[{events: \"tcp://*:1\"}]", 24, "host");
    refuse_target("kv_events", "[{events: \"tcp://h:1\", replay: x}]", 45,
                  "tcp:// or ipc://");
}

static void test_no_secret_is_shown(void **state)
{
    struct config_error error;
    static const char *const texts[] = {
        "targets: [{name: a, model: m, url: \"http://u:sesame@h\"}]\n",
        "targets: [{name: a, model: m, url: \"http://h\",\n"
        "  api_key_env: sk-sesame}]\n",
        "targets: [{name: a, model: m, url: \"http://h\",\n"
        "  api_key_env: sesame}]\n",
        "targets: [{name: a, model: m, url: \"http://h\", api_key: sesame}]\n",
        "cluster: {redis: \"redis://:sesame@h:99999\"}\n",
        "cluster: {redis: \"redis://:sesame@h h\"}\n",
        "cluster: {redis: \"redis://:sesame@h\"}\n",
        "cluster: {redis: \"redis://h\", password_env: sesame}\n",
        "router: {digest_key_env: sesame}\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_null(
            config_load(yaml_file_write(texts[i], strlen(texts[i])), &error));
        assert_true(error.line > 0 && error.column > 0);
        assert_null(strstr(error.text, "sesame"));
    }
}

static void test_environment(void **state)
{
    static const char text[] = "targets: [{name: a, model: m,\n"
                               "  url: \"http://h\", api_key_env: "
                               "LBROUTE_TEST_KEY}]\n";

    (void)state;
    unsetenv("LBROUTE_TEST_KEY");
    refuse(text, 2, 33, "no such variable");
    setenv("LBROUTE_TEST_KEY", "", 1);
    refuse(text, 2, 33, "no such variable");
    setenv("LBROUTE_TEST_KEY", "a\r\nb", 1);
    refuse(text, 2, 33, "cannot be a key");
    setenv("LBROUTE_TEST_KEY", "good", 1);
    config_free(yaml_load(text));
}

static void test_digest_key(void **state)
{
    static const char text[] = "router: {digest_key_env: LBROUTE_TEST_KEY}\n";

    (void)state;
    unsetenv("LBROUTE_TEST_KEY");
    refuse(text, 1, 26, "no such variable");
    setenv("LBROUTE_TEST_KEY", "00112233445566778899aabbccddeef", 1);
    refuse(text, 1, 26, "32 hexadecimal digits");
    setenv("LBROUTE_TEST_KEY", "00112233445566778899aabbccddeeff", 1);
    config_free(yaml_load(text));
}

/* The address of Redis, and its parts. */
static struct config *load_cluster(const char *settings)
{
    char text[512];

    setenv("LBROUTE_TEST_KEY", "00112233445566778899aabbccddeeff", 1);
    snprintf(text, sizeof text,
             "router: {digest_key_env: LBROUTE_TEST_KEY}\ncluster: {%s}\n",
             settings);
    return yaml_load(text);
}

static void check_cluster(const char *settings, bool tls, const char *host,
                          unsigned port, const char *user, const char *password)
{
    struct config *config = load_cluster(settings);
    const struct config_cluster *cluster = &config->cluster;

    assert_int_equal(cluster->tls, tls);
    assert_string_equal(cluster->host, host);
    assert_int_equal(cluster->port, port);
    assert_string_equal(cluster->user, user);
    assert_string_equal(cluster->password, password);
    config_free(config);
}

static void test_cluster(void **state)
{
    (void)state;
    check_cluster("redis: \"redis://h\"", false, "h", 6379, "", "");
    check_cluster("redis: \"rediss://h:1/\"", true, "h", 1, "", "");
    check_cluster("redis: \"redis://[::1]:65535/15\"", false, "::1", 65535, "",
                  "");
    check_cluster("redis: \"redis://:p%40:%3a@h\"", false, "h", 6379, "",
                  "p@::");
    check_cluster("redis: \"redis://u%20v:p+w@h\"", false, "h", 6379, "u v",
                  "p+w");
    check_cluster("redis: \"redis://u@h\", password_env: LBROUTE_TEST_KEY",
                  false, "h", 6379, "u", "");
    check_cluster("redis: \"redis://h\", tls: {}", false, "h", 6379, "", "");
}

static void refuse_cluster(const char *settings, unsigned column,
                           const char *words)
{
    char text[512];

    snprintf(text, sizeof text,
             "router: {digest_key_env: LBROUTE_TEST_KEY}\ncluster: {%s}\n",
             settings);
    refuse(text, 2, column, words);
}

static void test_bad_clusters(void **state)
{
    static const char *const addresses[] = {
        "h:1",          "http://h",      "redis://",       "redis://h:0",
        "redis://h:x",  "redis://h?q=1", "redis://h/name", "redis://h:70000",
        "redis://[::1", "redis://h/1#f", "redis://u@h",    "redis://h h",
    };
    char text[128];

    (void)state;
    setenv("LBROUTE_TEST_KEY", "00112233445566778899aabbccddeeff", 1);
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        snprintf(text, sizeof text, "redis: \"%s\"", addresses[i]);
        refuse_cluster(text, 18, "cluster.redis: ");
    }
    refuse_cluster("redis: \"redis://:p@h\", password_env: LBROUTE_TEST_KEY",
                   48, "a password already");
    refuse_cluster("redis: \"redis://h\", password_env: LBROUTE_TEST_NONE", 45,
                   "no such variable");
    refuse_cluster("redis: \"redis://h\", channel: \"\"", 40, "empty");
    refuse_cluster("redis: \"redis://h\", interval: 0.01", 41, "not within");
    refuse_cluster("redis: \"redis://h\", delta_bytes: 1KiB", 44, "not within");
    refuse_cluster("redis: \"redis://h\", tls: {ca_file: /x}", 46,
                   "with rediss:// only");
    refuse_cluster("redis: \"rediss://h\", tls: {ca_file: /nowhere}", 47,
                   "cluster.tls.ca_file: \"/nowhere\"");
    refuse_cluster("redis: \"rediss://h\", tls: {key: /nowhere}", 43,
                   "the certificate is missing");
    refuse("cluster: {redis: \"redis://h\"}\n", 1, 18, "router.digest_key_env");
}

static void test_files(void **state)
{
    char text[256];

    (void)state;
    refuse("prices: {file: /nowhere/at/all}\n", 1, 16,
           "prices.file: \"/nowhere/at/all\": ");
    refuse("tls: {ca_file: /nowhere/at/all}\n", 1, 16, "tls.ca_file: ");
    refuse("listen: {tls: {certificate: /nowhere}}\n", 1, 29, "the key is");
    refuse("listen: {tls: {key: /nowhere}}\n", 1, 21, "the certificate is");
    refuse("admin: {tls: {key: /nowhere, certificate: /nowhere}}\n", 1, 43,
           "admin.tls.certificate: ");
    snprintf(text, sizeof text, "tls: {ca_file: \"%s\"}\n", example);
    config_free(yaml_load(text));
    refuse("router: {header_prefix: \"a b\"}\n", 1, 25, "header");
}

/* A file that is none, one that is missing, one that is too large. */
static void test_the_file_itself(void **state)
{
    const size_t size = 16 * 1024 * 1024;
    char *large = malloc(size + 1);
    struct config_error error;

    (void)state;
    assert_null(config_load("/nowhere/at/all", &error));
    assert_int_equal(error.line, 0);
    assert_true(error.text[0] != '\0');
    assert_null(config_load("/", &error));
    assert_int_equal(error.line, 0);
    assert_non_null(large);
    memset(large, '\n', size + 1);
    memcpy(large, "retries: 2", 10);
    config_free(config_load(yaml_file_write(large, size), &error));
    assert_null(config_load(yaml_file_write(large, size + 1), &error));
    assert_non_null(strstr(error.text, "too large"));
    free(large);
}

static void test_aliases(void **state)
{
    struct config *config = yaml_load(
        "pools: [{name: &n p}]\n"
        "targets:\n"
        "  - {name: a, pool: *n, url: &u \"http://h\", kv_events: &k [{events: "
        "\"tcp://h:1\"}]}\n"
        "  - {name: b, pool: *n, url: *u, kv_events: *k}\n");

    (void)state;
    assert_string_equal(config->targets[1].url, "http://h");
    assert_int_equal(config->targets[1].kv_count, 1);
    config_free(config);
    refuse("listen: &l {tls: *l}\n", 1, 13, "unknown key \"tls\"");
    refuse("pools: &p\n- *p\n", 1, 8, "expected items");
}

/* Where lists of lists of aliases stand for more than any memory holds. */
static void test_alias_bomb(void **state)
{
    size_t room = 1024 * 1024, used = 0;
    char *text = malloc(room);

    (void)state;
    assert_non_null(text);
    used += (size_t)sprintf(text + used, "targets:\n- &t {name: a, model: m, "
                                         "url: \"http://h\", kv_events: [&e "
                                         "{events: \"tcp://h:1\"}");
    for (int i = 0; i < 1000; i++)
        used += (size_t)sprintf(text + used, ",*e");
    used += (size_t)sprintf(text + used, "]}\n");
    for (int i = 0; i < 16000; i++)
        used += (size_t)sprintf(text + used, "- *t\n");
    refuse_bytes(text, used, ANYWHERE, 0, "aliases");
    free(text);
}

static void test_deep_and_wide(void **state)
{
    const size_t size = 4 * 1024 * 1024;
    char *text = malloc(size);

    (void)state;
    assert_non_null(text);
    memset(text, '[', size);
    refuse_bytes(text, size, 1, 33, "deep");
    memcpy(text, "a: [", 4);
    for (size_t i = 4; i < size; i += 2)
        memcpy(text + i, "1,", 2);
    refuse_bytes(text, size, ANYWHERE, 0, "1,000,000");
    free(text);
}

/* Where the examples of lists stand, nothing is at its default. */
static bool has_default(const struct config_key *key)
{
    const char *inner = strstr(key->path, "[].");

    if (key->initial == NULL || strcmp(key->path, "targets[].pool") == 0 ||
        strcmp(key->path, "targets[].model") == 0)
        return false;
    return inner == NULL || (strncmp(key->path, "targets[].", 10) == 0 &&
                             strstr(inner + 3, "[].") == NULL);
}

static void check_default(const struct config_key *key, void *shown,
                          void *plain)
{
    char *one = (char *)shown + key->offset;
    char *other = (char *)plain + key->offset;

    if (key->kind == CONFIG_TEXT || key->kind == CONFIG_NAME)
        assert_string_equal(*(char **)(void *)one, *(char **)(void *)other);
    else if (key->kind == CONFIG_PORT)
        assert_memory_equal(one, other, sizeof(uint16_t));
    else if (key->kind == CONFIG_COUNT)
        assert_memory_equal(one, other, sizeof(uint32_t));
    else if (config_kind_is_number(key->kind))
        assert_memory_equal(one, other, sizeof(uint64_t));
}

/* The example says of each key what holds where it is not given. */
static void test_example(void **state)
{
    struct config_error error;
    struct config *shown = config_load(example, &error);
    struct config *plain = yaml_load(TARGET);
    const struct config_key *key;

    (void)state;
    if (shown == NULL)
        print_error("%u:%u: %s\n", error.line, error.column, error.text);
    assert_non_null(shown);
    for (size_t i = 1; (key = config_key_at(i)) != NULL; i++)
        if (has_default(key) && strncmp(key->path, "targets[].", 10) == 0)
            check_default(key, shown->targets, plain->targets);
        else if (has_default(key))
            check_default(key, shown, plain);
    config_free(shown);
    config_free(plain);
}

static char *read_example(void)
{
    FILE *file = fopen(example, "rb");
    char *text = calloc(1, 65536);

    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, 65535, file) > 0);
    fclose(file);
    return text;
}

/* The line that gives a key, after `from`; what comes before it on the line
 * are blanks and the dash of an item. */
static const char *find_key(const char *from, const char *name)
{
    char word[64];
    const char *line = from;

    snprintf(word, sizeof word, "%s:", name);
    for (; *line != '\0'; line += strcspn(line, "\n") + 1)
        if (strncmp(line + strspn(line, " -"), word, strlen(word)) == 0)
            return line;
    return NULL;
}

static const char *line_before(const char *text, const char *line)
{
    for (line--; line > text && line[-1] != '\n'; line--)
        continue;
    return line;
}

/* All keys, in the order of the table, each after a comment. */
static void test_example_is_complete(void **state)
{
    char *text = read_example();
    const char *line = text;
    const struct config_key *key;

    (void)state;
    for (size_t i = 1; (key = config_key_at(i)) != NULL; i++) {
        const char *before;

        line = find_key(line, config_key_name(key));
        if (line == NULL)
            print_error("%s is not in its place\n", key->path);
        assert_non_null(line);
        before = line_before(text, line);
        assert_int_equal(before[strspn(before, " ")], '#');
        line += strcspn(line, "\n") + 1;
    }
    free(text);
}

static void test_help_names_every_key(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const struct config_key *key;
    const char *at;

    (void)state;
    assert_non_null(out);
    config_print_help(out);
    fclose(out);
    at = text;
    for (size_t i = 1; (key = config_key_at(i)) != NULL; i++) {
        at = strstr(at, key->path);
        assert_non_null(at);
        assert_non_null(strstr(at, key->text));
        assert_true(strlen(key->text) <= 76);
    }
    free(text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_nothing_given),
        cmocka_unit_test(test_syntax),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_names_have_a_bound),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_pools),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_no_secret_is_shown),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_digest_key),
        cmocka_unit_test(test_cluster),
        cmocka_unit_test(test_bad_clusters),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_the_file_itself),
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_alias_bomb),
        cmocka_unit_test(test_deep_and_wide),
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_example_is_complete),
        cmocka_unit_test(test_help_names_every_key),
    };
    int failed;

    example = argc > 1 ? argv[1] : "proxy.example.yaml";
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    yaml_file_remove();
    return failed;
}
