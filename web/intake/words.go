package intake

import "embed"

//go:embed outgoing.go exported.go
var source embed.FS

// Source has the comments beside what stands in the lines, for those who describe
// them.
func Source() embed.FS { return source }
