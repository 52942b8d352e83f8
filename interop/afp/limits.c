/* Netatalk's cnid_metad ends if it may not have 65,535 open files, which root may not give itself in a container. It never
 * has so many. */
int setrlimit(int resource, const void *limit)
{
    (void)resource;
    (void)limit;
    return 0;
}

int setrlimit64(int resource, const void *limit) __attribute__((alias("setrlimit")));
