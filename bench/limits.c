/* What the machine allows: one pass of stochastic gradient descent in plain C, without ledger, counts,
   projection, checks or error messages. The yardstick of bench/run.

   cc -O3 -march=native -ffast-math limits.c -o limits -lm;  ./limits FILE.svm REPEATS
   prints the least CPU seconds of each part as one JSON object. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define INLINE static inline __attribute__((always_inline))

typedef struct {
    size_t rows, features, dimension;
    size_t *start;
    uint32_t *index;
    float *value, *label;
} Matrix;

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* A decimal without exponent, byte by byte; good to a float's precision for the few digits of the data. */
INLINE const char *number(const char *p, float *out) {
    static const double tens[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12};
    int negative = *p == '-';
    p += negative || *p == '+';
    uint64_t digits = 0;
    while (*p >= '0' && *p <= '9') digits = digits * 10 + (uint64_t)(*p++ - '0');
    int places = 0;
    if (*p == '.')
        for (p++; *p >= '0' && *p <= '9'; places++) digits = digits * 10 + (uint64_t)(*p++ - '0');
    double v = (double)digits / tens[places];
    *out = (float)(negative ? -v : v);
    return p;
}

INLINE const char *natural(const char *p, uint32_t *out) {
    uint32_t n = 0;
    while (*p >= '0' && *p <= '9') n = n * 10 + (uint32_t)(*p++ - '0');
    *out = n;
    return p;
}

INLINE float dot(const float *w, const uint32_t *index, const float *value, size_t n) {
    float a = 0, b = 0, c = 0, d = 0;
    size_t k = 0;
    for (; k + 4 <= n; k += 4) {
        a += w[index[k]] * value[k];
        b += w[index[k + 1]] * value[k + 1];
        c += w[index[k + 2]] * value[k + 2];
        d += w[index[k + 3]] * value[k + 3];
    }
    for (; k < n; k++) a += w[index[k]] * value[k];
    return a + b + c + d;
}

INLINE void add(float *w, const uint32_t *index, const float *value, size_t n, float step) {
    for (size_t k = 0; k < n; k++) w[index[k]] += step * value[k];
}

static float learn(const Matrix *m, float *w, int logistic) {
    float total = 0;
    for (size_t r = 0; r < m->rows; r++) {
        size_t a = m->start[r], n = m->start[r + 1] - a;
        const uint32_t *index = m->index + a;
        const float *value = m->value + a, y = m->label[r];
        float margin = y * dot(w, index, value, n);
        if (logistic) {
            add(w, index, value, n, 2 * y / (1 + expf(margin)));
        } else if (margin < 1) {
            total += 1 - margin;
            add(w, index, value, n, 0.5f * y);
        }
    }
    return total;
}

/* Parses a row into a small buffer, learns it, goes on. */
static float fused(const char *p, const char *end, float *w) {
    static uint32_t index[1 << 16];
    static float value[1 << 16];
    float total = 0;
    while (p < end) {
        float y;
        size_t n = 0;
        p = number(p, &y);
        while (*p == ' ' && n < 1 << 16) {
            p = natural(p + 1, &index[n]);
            p = number(p + 1, &value[n]);
            n++;
        }
        while (p < end && *p != '\n') p++;
        p++;
        float margin = y * dot(w, index, value, n);
        if (margin < 1) {
            total += 1 - margin;
            add(w, index, value, n, 0.5f * y);
        }
    }
    return total;
}

static Matrix parse(const char *p, const char *end, size_t bytes) {
    Matrix m = {0};
    m.start = malloc((bytes / 2 + 2) * sizeof *m.start);
    m.label = malloc((bytes / 2 + 2) * sizeof *m.label);
    m.index = malloc((bytes / 4 + 1) * sizeof *m.index);
    m.value = malloc((bytes / 4 + 1) * sizeof *m.value);
    while (p < end) {
        m.start[m.rows] = m.features;
        p = number(p, &m.label[m.rows++]);
        while (*p == ' ') {
            p = natural(p + 1, &m.index[m.features]);
            p = number(p + 1, &m.value[m.features]);
            if (m.index[m.features] >= m.dimension) m.dimension = m.index[m.features] + 1;
            m.features++;
        }
        while (p < end && *p != '\n') p++;
        p++;
    }
    m.start[m.rows] = m.features;
    return m;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    int repeats = atoi(argv[2]), file = open(argv[1], O_RDONLY);
    struct stat about;
    if (file < 0 || fstat(file, &about)) return 4;
    size_t bytes = (size_t)about.st_size;
    char *text = calloc(bytes + 64, 1);
    double best[5] = {1e9, 1e9, 1e9, 1e9, 1e9}, sink = 0;
    for (int r = 0; r < repeats; r++) {
        double start = cpu();
        lseek(file, 0, SEEK_SET);
        static char block[1 << 17];
        for (ssize_t n; (n = read(file, block, sizeof block)) > 0;) sink += block[0];
        best[0] = fmin(best[0], cpu() - start);
    }
    lseek(file, 0, SEEK_SET);
    for (size_t at = 0; at < bytes;) {
        ssize_t n = read(file, text + at, bytes - at);
        if (n <= 0) return 4;
        at += (size_t)n;
    }
    Matrix m = parse(text, text + bytes, bytes);
    size_t many = (size_t)1 << 24;
    for (int part = 1; part < 5; part++) {
        if (part == 4)
            for (size_t k = 0; k < m.features; k++) m.index[k] = (m.index[k] * 2654435761u) >> 8;
        size_t size = part == 4 ? many : m.dimension;
        for (int r = 0; r < repeats; r++) {
            float *w = aligned_alloc(64, (size * sizeof *w + 63) / 64 * 64); /* zeroed before the clock starts */
            memset(w, 0, size * sizeof *w);
            double start = cpu();
            sink += part == 1 ? fused(text, text + bytes, w) : learn(&m, w, part == 3);
            best[part] = fmin(best[part], cpu() - start);
            sink += w[size / 2];
            free(w);
        }
    }
    printf("{\"rows\": %zu, \"features\": %zu, \"read\": %.6f, \"fused\": %.6f, \"hinge\": %.6f, "
           "\"logistic\": %.6f, \"hashed\": %.6f}\n",
           m.rows, m.features, best[0], best[1], best[2], best[3], best[4]);
    return sink == 12345.678;
}
