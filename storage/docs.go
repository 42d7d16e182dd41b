package storage

import "embed"

// Docs contains the documentation pages about stores, which the dashboard shows.
//
//go:embed *.md */*.md
var Docs embed.FS
