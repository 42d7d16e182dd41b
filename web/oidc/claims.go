package oidc

import (
	"cmp"
	"strings"
	"unicode"

	"mayfly/web/identity"
)

// claims are what a provider says of somebody.
type claims map[string]any

// at is a claim by its name, or by the names of claims in one another with points
// between.
func (c claims) at(name string) any {
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

// text is a claim that is one; else empty.
func (c claims) text(name string) string {
	s, _ := c.at(name).(string)
	return s
}

// texts are those of a claim that is one or a list of them.
func (c claims) texts(name string) (all []string) {
	switch v := c.at(name).(type) {
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

// mostName bounds what somebody is called, in characters.
const mostName = 100

// name is what somebody is called; not ok if the claim that is to say so does not.
func (c claims) name(claim string) (string, bool) {
	said := c.text(claim)
	if claim == "" {
		said = cmp.Or(c.text("preferred_username"), c.text("email"), c.text("sub"))
	}
	said = plain(said, mostName)
	return said, said != ""
}

// role is the highest that the rules give for what the claim has.
func (c claims) role(claim string, rules []Rule) (role identity.Role) {
	has := map[string]bool{"*": true}
	for _, v := range c.texts(claim) {
		if v != "*" { // a group may be called so
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

// plain is a stranger's text without what is not seen, of at most so many characters.
func plain(text string, most int) string {
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
