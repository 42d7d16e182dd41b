package storage

import "embed"

// Docs has the pages of documentation about stores, which the dashboard shows.
//
//go:embed *.md */*.md
var Docs embed.FS
