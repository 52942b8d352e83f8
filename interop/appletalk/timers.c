/*
 * Loaded before atalkd's C library: until atalkd is ready, its timer runs five times as fast. A router that gives a network its numbers
 * waits for 40 seconds whether another router does, and the tests have a minute. It says that it is ready by stopping itself.
 */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>

enum { FASTER = 5 };

static struct itimerval ordinary;

static long call(long number, long first, long second, long third)
{
    long result;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(number), "D"(first), "S"(second), "d"(third)
                 : "rcx", "r11", "memory");
    return result;
}

static struct timeval shorter(struct timeval time)
{
    long long microseconds = (time.tv_sec * 1000000LL + time.tv_usec) / FASTER;
    return (struct timeval){microseconds / 1000000, microseconds % 1000000};
}

int setitimer(__itimer_which_t which, const struct itimerval *wanted, struct itimerval *before)
{
    ordinary = *wanted;
    struct itimerval timer = {shorter(wanted->it_interval), shorter(wanted->it_value)};
    return call(SYS_setitimer, which, (long)&timer, (long)before) < 0 ? -1 : 0;
}

int kill(pid_t process, int signal)
{
    if (signal == SIGSTOP) {
        call(SYS_setitimer, ITIMER_REAL, (long)&ordinary, 0);
    }
    return call(SYS_kill, process, signal, 0) < 0 ? -1 : 0;
}
