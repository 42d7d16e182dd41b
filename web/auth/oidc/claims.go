package oidc

import (
	"cmp"
	"strings"
	"unicode"

	"mayfly/web/auth"
)

// claims are the provider's claims about a user.
type claims map[string]any

// claim returns a claim by its name, or by the names of nested claims with dots between.
func (c claims) claim(name string) any {
	if v, ok := c[name]; ok {
		return v
	}
	in := map[string]any(c)
	parts := strings.Split(name, ".")
	for _, p := range parts[:len(parts)-1] {
		next, ok := in[p].(map[string]any)
		if !ok {
			return nil
		}
		in = next
	}
	return in[parts[len(parts)-1]]
}

// text returns a claim that is a string, else "".
func (c claims) text(name string) string {
	s, _ := c.claim(name).(string)
	return s
}

// texts returns the strings of a claim that is a string or a list of strings, else nil.
func (c claims) texts(name string) (all []string) {
	switch v := c.claim(name).(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

// maxName bounds a user's name, in characters.
const maxName = 100

// name returns the user's name from a claim, or from the first usual one if `claim` is empty. It
// reports whether there is a name.
func (c claims) name(claim string) (string, bool) {
	name := c.text(claim)
	if claim == "" {
		name = cmp.Or(c.text("preferred_username"), c.text("email"), c.text("sub"))
	}
	name = cleanText(name, maxName)
	return name, name != ""
}

// role returns the highest role that the rules give for the values of the claim, or auth.None.
func (c claims) role(claim string, rules []Rule) (role auth.Role) {
	has := map[string]bool{"*": true}
	for _, v := range c.texts(claim) {
		if v != "*" { // a group may have that name
			has[v] = true
		}
	}
	for _, r := range rules {
		if has[r.Value] {
			role = max(role, r.Role)
		}
	}
	return role
}

// cleanText returns untrusted text without invisible characters, cut to `most` characters.
func cleanText(text string, most int) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "")))
	if r := []rune(text); len(r) > most {
		return string(r[:most])
	}
	return text
}
