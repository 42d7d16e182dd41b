package cli

import (
	"regexp"
	"strings"
)

// renamed maps the former names of flags, commands and variables to their present ones. The
// former names are not accepted; the error names the present one. renamed.md lists them too.
var renamed = map[string]string{
	"alerts off": "alerts disable", "alerts on": "alerts enable", "templates keep": "templates set",
	"scenes remove": "scenes delete", "users remove": "users delete",
	"MAYFLY_CONNECTIONS": "MAYFLY_MAX_CONNECTIONS", "MAYFLY_HISTORY_FOR": "MAYFLY_HISTORY_RETENTION", "MAYFLY_NAMESPACES": "MAYFLY_MAX_NAMESPACES",
	"MAYFLY_SAFE": "MAYFLY_SAFE_MODE", "MAYFLY_WAIT": "MAYFLY_STORE_WAIT",
	"--connections": "--max-connections", "--history-for": "--history-retention", "--namespaces": "--max-namespaces",
	"--safe": "--safe-mode", "--wait": "--store-wait",
	"MAYFLY_NS": "MAYFLY_NAMESPACE", "--ns": "--namespace",
	"--count": "--limit", "--describe": "--description", "--for": "--expires-in", "--from": "--cursor", "--max": "--limit",
	"--number": "--sequence-number", "--seq": "--sequence-number", "--within": "--only-namespace",
	"--by": "--extend-by", "--off": "--disabled", "--over": "--threshold", "--times": "--max-extensions",
}

// formerFlag matches kong's error about a flag that does not exist.
var formerFlag = regexp.MustCompile(`^unknown flag (--[a-z-]+)`)

// variablesHint returns a part of a sentence that names the present names of those unknown
// variables that were renamed, or "" if none was.
func variablesHint(unknown []string) (hint string) {
	for _, name := range unknown {
		hint += nowCalled(name)
	}
	return hint
}

// renameHint returns a part of a sentence, such as "; --over is now --threshold", if a command
// line or its error contains a former name, and "" otherwise.
func renameHint(args []string, err error) string {
	if m := formerFlag.FindStringSubmatch(err.Error()); m != nil {
		return nowCalled(m[1])
	}
	if len(args) > 1 {
		return nowCalled(strings.Join(args[:2], " "))
	}
	return ""
}

// nowCalled returns "; NAME is now NEWNAME", or "" for a name that was not renamed.
func nowCalled(name string) string {
	if renamed[name] == "" {
		return ""
	}
	return "; " + name + " is now " + renamed[name]
}
