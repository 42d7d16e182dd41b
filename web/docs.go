package web

import "embed"

// Docs has the pages of documentation about the server's protocols, which the dashboard shows.
//
//go:embed */*.md
var Docs embed.FS
