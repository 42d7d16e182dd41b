// Package loglimit keeps clients from flooding the log. It writes at most one line of a
// kind per second, with the number of lines left out, and cuts long values.
//
// A kind is a level and a message, which are constants of the program. The first line of a kind is
// written at once. Of the lines that follow within a second, the last is written when the second is
// over, with the number of the others as left_out. So neither of two lines is lost, and nine
// thousand refusals a second make one line. Debug lines are not limited, because an operator who
// enables them wants all of them, but their values are cut.
//
// Strings are cut at 200 characters. Errors are cut at 1,000, because those of a store
// carry much detail; callers log a client's own text as a string. [log/slog.TextHandler]
// escapes unprintable characters, such as line ends and direction marks.
//
// [Repeats] is for lines about single clients: each is written once in 30 seconds of one
// client, and the caller leaves the others out.
//
// github.com/samber/slog-sampling limits lines too, but neither counts the lines it drops
// nor writes the last line of a burst.
package loglimit
