/* SPDX-License-Identifier: MIT */
/*
 * What the simulator has to say besides its report: notes, and why it cannot go
 * on. The program prints that and exits; a host that embeds the simulator
 * listens instead.
 */
#ifndef LBROUTE_REPLAY_TELL_H
#define LBROUTE_REPLAY_TELL_H

struct tell_listener {
    /** Receives a line without its end. */
    void (*hear)(void *context, const char *line);
    /** Ends the run: must not return. What the run holds is lost. */
    void (*stop)(void *context);
    void *context;
};

/** Sets the name of the program, with which lines on stderr begin. */
void tell_as(const char *program);

/** Sets who listens from now on; NULL: nobody, lines go to stderr. There is one
 * listener in a process, and so one run at a time. */
void tell_to(const struct tell_listener *listener);

/** Says something. */
void tell(const char *format, ...);

/** Points a user of the program to --help; a listener hears nothing. */
void tell_hint(void);

/** Says why the run cannot go on, and ends it. */
_Noreturn void tell_and_stop(const char *format, ...);

#endif
