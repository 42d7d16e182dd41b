package engine

import "embed"

// Docs contains the documentation of the rules, which the dashboard shows.
//
//go:embed *.md */*.md
var Docs embed.FS
