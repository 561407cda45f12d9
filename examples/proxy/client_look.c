/* SPDX-License-Identifier: MIT */
#include "client_parts.h"
#include "gateway.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <string.h>

static bool has_nul(struct evbuffer *input, size_t from)
{
    struct evbuffer_iovec pieces[8];
    struct evbuffer_ptr at;
    size_t len = evbuffer_get_length(input);
    while (from < len &&
           evbuffer_ptr_set(input, &at, from, EVBUFFER_PTR_SET) == 0) {
        int count =
            evbuffer_peek(input, (ev_ssize_t)(len - from), &at, pieces, 8);
        for (int i = 0; i < count && i < 8; i++) {
            if (memchr(pieces[i].iov_base, 0, pieces[i].iov_len))
                return true;
            from += pieces[i].iov_len;
        }
        if (count <= 0)
            break;
    }
    return false;
}

/* libevent would cut a header off at a NUL, where another server may not. It
 * stands in no request, since JSON has none either. */
static void look_for_nul(struct evbuffer *input,
                         const struct evbuffer_cb_info *info, void *context)
{
    struct client *client = context;
    if (info->n_added && !client->nul)
        client->nul = has_nul(input, info->orig_size);
}

bool client_sent_nul(const struct client *client)
{
    return client->nul;
}

/* The only thing that libevent says by itself, but for 100 Continue, are its
 * own errors: of requests that no callback gets to see. */
static void look_for_refusal(struct evbuffer *output,
                             const struct evbuffer_cb_info *info, void *context)
{
    struct client *client = context;
    struct evbuffer_iovec first;
    if (!info->n_added || client->request || client->refused ||
        evbuffer_peek(output, -1, NULL, &first, 1) < 1 || first.iov_len < 10)
        return;
    const char *line = first.iov_base;
    if (strncmp(line, "HTTP/1.", 7) != 0 || line[9] != '4')
        return;
    struct counters *counters = &client->all->gateway->counters;
    client->refused = true;
    counters->requests++;
    counters->refused++;
    counters->answers[4]++;
}

bool client_look_begin(struct client *client)
{
    struct evbuffer *input = bufferevent_get_input(client->bufev);
    struct evbuffer *output = bufferevent_get_output(client->bufev);
    client->look_in = evbuffer_add_cb(input, look_for_nul, client);
    client->look_out = evbuffer_add_cb(output, look_for_refusal, client);
    return client->look_in && client->look_out;
}

void client_look_end(struct client *client)
{
    struct evbuffer *input = bufferevent_get_input(client->bufev);
    struct evbuffer *output = bufferevent_get_output(client->bufev);
    if (client->look_in)
        evbuffer_remove_cb_entry(input, client->look_in);
    if (client->look_out)
        evbuffer_remove_cb_entry(output, client->look_out);
}
