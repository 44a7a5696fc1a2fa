// SPDX-License-Identifier: Apache-2.0
/* What must be true of one policy file, whatever lies above or below it. */
#include "policy/ast.h"

#include <string.h>

bool rf_ast_is_name(const char *text, size_t max)
{
	size_t len = strlen(text);

	if (!len || len > max || text[0] == '.' || text[0] == '-')
		return false;
	return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len;
}

static int check_name(struct rf_compile *c, const struct rf_ast *ast)
{
	if (!ast->version.text)
		return rf_diag_at(c->diag, ast->place, "\"ringfence\" is missing: begin with \"ringfence\": 1");
	if (!ast->name.text)
		return rf_diag_at(c->diag, ast->place, "\"name\" is missing: add \"name\": \"coding-agent\"");
	/* It becomes part of a file name and of every event. */
	if (!rf_ast_is_name(ast->name.text, RF_NAME_BYTES_MAX))
		return rf_diag_at(c->diag, ast->name.place,
				  "the name \"%.80s\" must be letters, digits, '.', '_', '-', at most %d",
				  ast->name.text, RF_NAME_BYTES_MAX);
	return 0;
}

/* Free text that travels in events. */
static int check_text(struct rf_compile *c, const struct rf_ast_string *s, const char *key)
{
	size_t len = s->text ? strlen(s->text) : 0;

	if (len > RF_TEXT_BYTES_MAX)
		return rf_diag_at(c->diag, s->place, "\"%s\" is longer than %d bytes: shorten it", key,
				  RF_TEXT_BYTES_MAX);
	for (size_t i = 0, n; i < len; i += n) {
		uint32_t code = 0;

		n = rf_diag_utf8(s->text + i, len - i, &code);
		if (!n || rf_diag_hostile(code))
			return rf_diag_at(c->diag, s->place,
					  "\"%s\" holds a control character, U+%04X: write plain text", key, code);
	}
	return 0;
}

static int check_word(struct rf_compile *c, const struct rf_ast_string *s, const char *key, const char *a,
		      const char *b)
{
	if (!s->text || !strcmp(s->text, a) || !strcmp(s->text, b))
		return 0;
	return rf_diag_at(c->diag, s->place, "\"%s\" is \"%.60s\": write \"%s\" or \"%s\"", key, s->text, a, b);
}

/* YYYY-MM-DD -> the first second that is too late, UTC; -1: no such day */
static time_t day_end(const char *text)
{
	struct tm tm = {}, back;
	int year, month, day, used = 0;
	time_t start;

	if (strlen(text) != 10 || strspn(text, "0123456789") != 4 || text[4] != '-' ||
	    strspn(text + 5, "0123456789") != 2 || text[7] != '-' || strspn(text + 8, "0123456789") != 2 ||
	    sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &used) != 3 || used != 10)
		return -1;
	tm.tm_year = year - 1900;
	tm.tm_mon = month - 1;
	tm.tm_mday = day;
	back = tm;
	start = timegm(&back);
	/* timegm() turns February 30th into March 2nd */
	if (year < 1970 || back.tm_mday != day || back.tm_mon != month - 1 || back.tm_year != year - 1900)
		return -1;
	return start + 24 * 60 * 60;
}

static int check_end(struct rf_compile *c, const struct rf_ast *ast)
{
	const struct rf_ast_string *expires = &ast->expires;
	time_t end;
	int err = check_word(c, &ast->stage, "stage", "pilot", "production");

	if (err)
		return err;
	if (!expires->text) {
		if (ast->stage.text && !strcmp(ast->stage.text, "pilot"))
			return rf_diag_at(c->diag, ast->stage.place,
					  "a pilot must end: add \"expires\": \"YYYY-MM-DD\"");
		return 0;
	}
	end = day_end(expires->text);
	if (end == (time_t)-1)
		return rf_diag_at(c->diag, expires->place,
				  "\"%.40s\" is no day of the calendar: write it like \"2027-03-31\"", expires->text);
	if (c->args->now >= end)
		return rf_diag_at(c->diag, expires->place,
				  "expired: the policy ended on %s: have it reviewed and set a new date",
				  expires->text);
	return 0;
}

static int check_rule(struct rf_compile *c, const struct rf_ast_rule *rule, bool floor)
{
	if (floor && rule->allow)
		return rf_diag_at(c->diag, rule->verb_place, "a floor may only deny: move this rule to a policy");
	if (rule->section == RF_AST_FILES && !rule->paths.items && !rule->unknown_fs)
		return rf_diag_at(c->diag, rule->place, "a rule of \"files\" without \"paths\": add them");
	if (rule->section == RF_AST_FILES && rule->paths.items && rule->unknown_fs)
		return rf_diag_at(c->diag, rule->unknown_fs_place,
				  "\"paths\" and \"unknown-filesystem\" in one rule: make two rules");
	/* The kernel half has one answer for all accesses there. */
	if (rule->unknown_fs && (rule->verb.n != 1 || strcmp(rule->verb.items[0].text, "*")))
		return rf_diag_at(c->diag, rule->verb.place,
				  "\"unknown-filesystem\" is allowed or denied as a whole: write \"%s\": [\"*\"]",
				  rule->allow ? "allow" : "deny");
	if (rule->id.text && (strlen(rule->id.text) > RF_ID_BYTES_MAX ||
			      rule->id.text[strspn(rule->id.text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
								  "0123456789._-:[]")]))
		return rf_diag_at(c->diag, rule->id.place,
				  "the id \"%.80s\" must be letters, digits, '.', '_', '-', at most %d", rule->id.text,
				  RF_ID_BYTES_MAX);
	return check_text(c, &rule->why, "why");
}

static int check_floor(struct rf_compile *c, const struct rf_ast *ast)
{
	const struct {
		const char *text;
		struct rf_place key;
		const char *name;
	} no[] = {{ast->stage.text, ast->stage_key, "stage"},
		  {ast->expires.text, ast->expires_key, "expires"},
		  {ast->mode.text, ast->mode_key, "mode"},
		  {ast->extends.items ? "" : NULL, ast->extends_key, "extends"}};

	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (no[i].text)
			return rf_diag_at(c->diag, no[i].key,
					  "\"%s\" in a floor: it always holds and stands alone, remove it", no[i].name);
	return 0;
}

int rf_ast_check(struct rf_compile *c, const struct rf_ast *ast, bool floor)
{
	int err = check_name(c, ast);

	if (!err && floor)
		err = check_floor(c, ast);
	if (!err && !floor && !strcmp(ast->name.text, "floor"))
		err = rf_diag_at(c->diag, ast->name.place,
				 "the name \"floor\" belongs to the host's floor: choose another");
	if (!err)
		err = check_text(c, &ast->owner, "owner");
	if (!err)
		err = check_end(c, ast);
	if (!err)
		err = check_word(c, &ast->mode, "mode", "enforce", "observe");
	for (int s = 0; s < RF_AST_SECTIONS && !err; s++)
		for (size_t i = 0; i < ast->n_rules[s] && !err; i++)
			err = check_rule(c, &ast->rules[s][i], floor);
	return err;
}
