/* JSON on standard output, written as it goes. */
#include "json.h"

#include <stdio.h>

static bool first = true;

static void quote(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20 || c >= 0x7f) /* bytes as code points: always valid, never lost */
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static void begin(const char *key)
{
    if (!first)
        putchar(',');
    first = false;
    if (key != NULL) {
        quote(key);
        putchar(':');
    }
}

void json_open(const char *key, char bracket)
{
    begin(key);
    putchar(bracket);
    first = true;
}

void json_close(char bracket)
{
    putchar(bracket);
    first = false;
}

void json_text(const char *key, const char *text)
{
    begin(key);
    quote(text);
}

void json_number(const char *key, long long number)
{
    begin(key);
    printf("%lld", number);
}

void json_bool(const char *key, bool value)
{
    begin(key);
    fputs(value ? "true" : "false", stdout);
}
