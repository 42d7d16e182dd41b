package main

import (
	"embed"
	"io/fs"

	"mayfly/engine"
	"mayfly/storage"
	"mayfly/web"
	"mayfly/web/docs"
)

// ownDocs has the pages of documentation about the program, and the files that they link to.
//
//go:embed *.md kubernetes.yaml
var ownDocs embed.FS

// openDocs returns the documentation, for a dashboard with a base path.
func openDocs(base string) *docs.Library {
	return docs.New(base, map[string]fs.FS{"cmd/mayfly": ownDocs, "engine": engine.Docs, "storage": storage.Docs, "web": web.Docs})
}
