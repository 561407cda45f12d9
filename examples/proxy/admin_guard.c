/* SPDX-License-Identifier: MIT */
#include "admin_guard.h"

#include <event2/http.h>
#include <event2/util.h>

#include <arpa/inet.h>
#include <string.h>

struct ip {
    int family; /* AF_INET, AF_INET6; 0: no address but a name. */
    struct in_addr v4;
    struct in6_addr v6;
};

static struct ip read_ip(const char *text)
{
    struct ip ip;

    memset(&ip, 0, sizeof(ip));
    if (inet_pton(AF_INET, text, &ip.v4) == 1)
        ip.family = AF_INET;
    else if (inet_pton(AF_INET6, text, &ip.v6) == 1)
        ip.family = AF_INET6;
    return ip;
}

static bool is_loopback(const struct ip *ip)
{
    if (ip->family == AF_INET)
        return ntohl(ip->v4.s_addr) >> 24 == 127;
    return ip->family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&ip->v6);
}

static bool is_any(const struct ip *ip)
{
    if (ip->family == AF_INET)
        return ip->v4.s_addr == htonl(INADDR_ANY);
    return ip->family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&ip->v6);
}

static bool same_ip(const struct ip *left, const struct ip *right)
{
    if (left->family != right->family)
        return false;
    if (left->family == AF_INET)
        return left->v4.s_addr == right->v4.s_addr;
    return memcmp(&left->v6, &right->v6, sizeof(left->v6)) == 0;
}

/* Takes the port away, and the brackets of an IPv6 address. */
static bool host_name(const char *host, char *name, size_t size)
{
    const char *end;

    if (*host == '[') {
        end = strchr(++host, ']');
        if (end == NULL || (end[1] != '\0' && end[1] != ':'))
            return false;
    } else {
        end = host + strcspn(host, ":");
    }
    if (end == host || (size_t)(end - host) >= size)
        return false;
    memcpy(name, host, (size_t)(end - host));
    name[end - host] = '\0';
    return true;
}

bool admin_guard_host(const char *host, const char *address)
{
    char name[256];
    struct ip asked, listening = read_ip(address);

    if (host == NULL || !host_name(host, name, sizeof(name)))
        return false;
    asked = read_ip(name);
    if (asked.family == 0)
        return evutil_ascii_strcasecmp(name, "localhost") == 0 ||
               (listening.family == 0 &&
                evutil_ascii_strcasecmp(name, address) == 0);
    return is_loopback(&asked) || is_any(&listening) ||
           same_ip(&asked, &listening);
}

bool admin_guard_type(const char *type)
{
    static const char json[] = "application/json";
    const size_t length = sizeof(json) - 1;

    if (type == NULL || evutil_ascii_strncasecmp(type, json, length) != 0)
        return false;
    return type[length + strspn(type + length, " \t")] == '\0' ||
           type[length + strspn(type + length, " \t")] == ';';
}

bool admin_guard_origin(const struct evkeyvalq *headers)
{
    const char *site = evhttp_find_header(headers, "Sec-Fetch-Site");
    const char *origin = evhttp_find_header(headers, "Origin");
    const char *host = evhttp_find_header(headers, "Host");
    const char *authority;

    if (site != NULL && strcmp(site, "same-origin") != 0 &&
        strcmp(site, "none") != 0)
        return false;
    if (origin == NULL)
        return true;
    authority = strstr(origin, "://");
    return authority != NULL && host != NULL &&
           evutil_ascii_strcasecmp(authority + 3, host) == 0;
}
