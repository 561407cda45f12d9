/* SPDX-License-Identifier: MIT */
/* Circular doubly linked list with its links inside the objects.
 *
 *     head <-> first <-> … <-> last <-> head
 */
#ifndef LBR_CONTAINERS_LIST_H
#define LBR_CONTAINERS_LIST_H

#include <stddef.h>
#include <stdint.h>

/* A head inside an object is reached through the object and through the links
 * of its neighbours. gcc 12 is wrong to tell the two apart by their types: it
 * drops the reload of a list's first object from a loop that moves objects to
 * another list, if a second such loop follows. */
#if defined(__GNUC__)
#define LBR_MAY_ALIAS __attribute__((may_alias))
#else
#define LBR_MAY_ALIAS
#endif

struct LBR_MAY_ALIAS lbr_link {
    struct lbr_link *previous, *next;
};

/* The object of type |type| whose field |field| is |link|. */
#define LBR_OWNER(link, type, field)                                           \
    ((type *)(uintptr_t)((const char *)(link)-offsetof(type, field)))

static inline void lbr_list_init(struct lbr_link *head)
{
    head->previous = head->next = head;
}

static inline int lbr_list_empty(const struct lbr_link *head)
{
    return head->next == head;
}

static inline void lbr_list_remove(struct lbr_link *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
}

static inline void lbr_list_append(struct lbr_link *head, struct lbr_link *link)
{
    link->previous = head->previous;
    link->next = head;
    head->previous->next = link;
    head->previous = link;
}

static inline void lbr_list_prepend(struct lbr_link *head,
                                    struct lbr_link *link)
{
    link->previous = head;
    link->next = head->next;
    head->next->previous = link;
    head->next = link;
}

#endif
