package connlimit

// DefaultMax is how many connections a process may have by default, if its limit of open
// files allows as many.
const DefaultMax = 10_000

// FitFiles returns how many connections the process's limit of open files allows, at most `wanted`,
// or DefaultMax if `wanted` is zero. It counts `each` files for a connection, and leaves `others`
// files, but at most half of all files, for other uses.
func FitFiles(wanted, others, each int) int {
	if wanted == 0 {
		wanted = DefaultMax
	}
	files := fileLimit()
	if files == 0 {
		return wanted
	}
	return fitFiles(wanted, files, others, each)
}

func fitFiles(wanted, files, others, each int) int {
	return max(1, min(wanted, (files-min(others+ExtraFiles, files/2))/each))
}
