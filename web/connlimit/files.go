package connlimit

// DefaultMax is how many connections a process may have by default, if its limit of open
// files allows as many.
const DefaultMax = 10_000

// FitFiles returns how many of wanted connections, or of DefaultMax if wanted is zero, the
// process's limit of open files allows. It leaves others files for other uses, but at most
// half of all, and counts each files for a connection.
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
