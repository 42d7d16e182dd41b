package manual

import (
	"embed"
	"io/fs"

	"mayfly/engine"
	"mayfly/storage"
	"mayfly/web"
	"mayfly/web/docs"
)

// pages contains the documentation pages about the program, and the files that they link to.
//
//go:embed *.md kubernetes.yaml
var pages embed.FS

// Open returns the documentation, for a dashboard with a base path.
func Open(base string) *docs.Library {
	return docs.New(base, map[string]fs.FS{"cmd/mayfly/manual": pages, "engine": engine.Docs, "storage": storage.Docs, "web": web.Docs})
}
