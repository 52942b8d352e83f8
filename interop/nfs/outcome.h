/* One line per check on standard output: "pass NAME" or "fail NAME: WHY"; xtask compares them with expected.toml. */
#ifndef FOURFOLD_OUTCOME_H
#define FOURFOLD_OUTCOME_H

#include <stdio.h>

static inline int check(const char *name, int ok, const char *why)
{
    if (ok)
        printf("pass %s\n", name);
    else
        printf("fail %s: %s\n", name, why);
    fflush(stdout);
    return ok;
}

/* `got` must be `wanted`. */
static inline int check_is(const char *name, long got, long wanted)
{
    char why[64];
    snprintf(why, sizeof why, "is %ld, not %ld", got, wanted);
    return check(name, got == wanted, why);
}

#endif
