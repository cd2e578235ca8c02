/* Loaded before libc (LD_PRELOAD): fails calls that change files below one folder, and logs them.
 *
 * `SYSCALLS_DIR` is the folder. `SYSCALLS_CONTROL` is a file with five numbers (`struct control`)
 * that a test changes while we run. `SYSCALLS_LOG` takes one line for each call that succeeded, and
 * for each failed sync: a letter, the inode, the size, and the path (see `power.py`). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

struct control {
    volatile long calls;     /* how many there were since the test set this to 0 */
    volatile long first;     /* the call that fails; 0: none */
    volatile long last;      /* and all up to this one */
    volatile long error;     /* with this errno */
    volatile long failed;    /* how many have failed */
    char what[4096];         /* the first of them */
};

static struct control *control;
static const char *folder;
static size_t folder_length;
static int log_file = -1;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("SYSCALLS_CONTROL"), *log = getenv("SYSCALLS_LOG");
    folder = getenv("SYSCALLS_DIR");
    if (!folder || !path || !log) { folder = NULL; return; }
    folder_length = strlen(folder);
    int file = syscall(SYS_openat, AT_FDCWD, path, O_RDWR, 0);
    log_file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT, 0644);
    if (file < 0 || log_file < 0) { fprintf(stderr, "no control or log\n"); _exit(2); }
    control = mmap(0, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (control == MAP_FAILED) { fprintf(stderr, "no control\n"); _exit(2); }
    syscall(SYS_close, file);
}

static int is_below(const char *path) {
    return folder && path && !strncmp(path, folder, folder_length) && path[folder_length] == '/';
}

static int path_of(int file, char *path, size_t size) {
    char link[64];
    if (!folder || file < 3) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, size - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return is_below(path);
}

/* The errno with which this call is to fail, or 0. */
static int fault(const char *call, const char *path) {
    long number = __sync_add_and_fetch(&control->calls, 1);
    if (!control->first || number < control->first || number > control->last) return 0;
    if (__sync_add_and_fetch(&control->failed, 1) == 1)
        snprintf(control->what, sizeof control->what, "%s %s", call, path + folder_length + 1);
    return (int)control->error;
}

static void note(char letter, long inode, long size, const char *path) {
    char line[4400];
    int length = snprintf(line, sizeof line, "%c %ld %ld %s\n", letter, inode, size, path);
    (void)!syscall(SYS_write, log_file, line, length);
}

static void note_sync(int file, const char *path, int is_done) {
    struct stat found;
    if (fstat(file, &found)) return;
    int is_folder = S_ISDIR(found.st_mode);
    char letter = is_folder ? (is_done ? 'D' : 'd') : (is_done ? 'S' : 's');
    note(letter, (long)found.st_ino, (long)found.st_size, path);
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name)
#define ON_FILE(name, file, ...) \
    REAL(name); char path[4096]; int error; \
    if (path_of(file, path, sizeof path) && (error = fault(#name, path))) { errno = error; return -1; } \
    return real(__VA_ARGS__)

ssize_t write(int f, const void *p, size_t n) { ON_FILE(write, f, f, p, n); }
ssize_t pwrite(int f, const void *p, size_t n, off_t o) { ON_FILE(pwrite, f, f, p, n, o); }
ssize_t pwrite64(int f, const void *p, size_t n, off64_t o) { ON_FILE(pwrite64, f, f, p, n, o); }
ssize_t writev(int f, const struct iovec *v, int n) { ON_FILE(writev, f, f, v, n); }
int ftruncate(int f, off_t n) { ON_FILE(ftruncate, f, f, n); }
int ftruncate64(int f, off64_t n) { ON_FILE(ftruncate64, f, f, n); }

#define SYNC(name) \
    int name(int f) { \
        REAL(name); char path[4096]; int error; \
        if (!path_of(f, path, sizeof path)) return real(f); \
        if ((error = fault(#name, path))) { note_sync(f, path, 0); errno = error; return -1; } \
        int result = real(f); \
        note_sync(f, path, result == 0); \
        return result; \
    }
SYNC(fsync)
SYNC(fdatasync)

/* Calls that give a name, or take one: `given` and `taken` are paths or NULL. */
#define ON_NAME(name, letter, given, taken, ...) \
    REAL(name); int error; const char *a = given, *b = taken; const char *about = a ? a : b; \
    if (!is_below(about)) return real(__VA_ARGS__); \
    if ((error = fault(#name, about))) { errno = error; return -1; } \
    int result = real(__VA_ARGS__); \
    if (result == 0 && b) note('U', 0, 0, b); \
    if (result == 0 && a) note(letter, 0, 0, a); \
    return result

int rename(const char *x, const char *y) { ON_NAME(rename, 'N', y, x, x, y); }
int renameat2(int d, const char *x, int e, const char *y, unsigned f) {
    ON_NAME(renameat2, 'N', y, x, d, x, e, y, f);
}
int link(const char *x, const char *y) { ON_NAME(link, 'N', y, NULL, x, y); }
int linkat(int d, const char *x, int e, const char *y, int f) {
    ON_NAME(linkat, 'N', y, NULL, d, x, e, y, f);
}
int mkdir(const char *x, mode_t m) { ON_NAME(mkdir, 'M', x, NULL, x, m); }
int mkdirat(int d, const char *x, mode_t m) { ON_NAME(mkdirat, 'M', x, NULL, d, x, m); }
int unlink(const char *x) { ON_NAME(unlink, 'N', NULL, x, x); }
int rmdir(const char *x) { ON_NAME(rmdir, 'N', NULL, x, x); }
int unlinkat(int d, const char *x, int f) {
    REAL(unlinkat);
    char path[8192];
    int length = 0, error;
    if (x[0] != '/' && path_of(d, path, 4096)) length = strlen(path);
    snprintf(path + length, sizeof path - length, length ? "/%s" : "%s", x);
    if (!is_below(path)) return real(d, x, f);
    if ((error = fault("unlinkat", path))) { errno = error; return -1; }
    int result = real(d, x, f);
    if (result == 0) note('U', 0, 0, path);
    return result;
}

#define OPEN(name, parameters, ...) \
    int name parameters { \
        REAL(name); int mode = 0, error; \
        if (flags & (O_CREAT | __O_TMPFILE)) { \
            va_list rest; va_start(rest, flags); mode = va_arg(rest, int); va_end(rest); \
        } \
        if (!(flags & (O_CREAT | O_TRUNC)) || !is_below(path)) return real(__VA_ARGS__); \
        if ((error = fault(#name, path))) { errno = error; return -1; } \
        int is_new = access(path, F_OK) != 0, result = real(__VA_ARGS__); \
        struct stat found; \
        if (result >= 0 && is_new && !fstat(result, &found)) \
            note('C', (long)found.st_ino, 0, path); \
        return result; \
    }
OPEN(open, (const char *path, int flags, ...), path, flags, mode)
OPEN(open64, (const char *path, int flags, ...), path, flags, mode)
OPEN(openat, (int d, const char *path, int flags, ...), d, path, flags, mode)
OPEN(openat64, (int d, const char *path, int flags, ...), d, path, flags, mode)
