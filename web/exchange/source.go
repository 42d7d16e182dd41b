package exchange

import "embed"

//go:embed outgoing.go exported.go
var source embed.FS

// Source returns the source of Outgoing, Exported, Part and System; the API's documentation
// uses their comments.
func Source() embed.FS { return source }
