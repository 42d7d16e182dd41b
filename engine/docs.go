package engine

import "embed"

// Docs has the pages of documentation about the rules, which the dashboard shows.
//
//go:embed *.md */*.md
var Docs embed.FS
