package cli

import "runtime/debug"

// Version returns the version and commit of the build, as far as they are known.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "mayfly (unknown version)"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "mayfly " + info.Main.Version + " " + s.Value[:min(12, len(s.Value))]
		}
	}
	return "mayfly " + info.Main.Version
}
