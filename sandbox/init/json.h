/* JSON on standard output, written as it goes. */
#ifndef ROLEWALL_JSON_H
#define ROLEWALL_JSON_H

#include <stdbool.h>

void json_open(const char *key, char bracket); /* key NULL: none */
void json_close(char bracket);
void json_text(const char *key, const char *text);
void json_number(const char *key, long long number);
void json_bool(const char *key, bool value);

#endif
