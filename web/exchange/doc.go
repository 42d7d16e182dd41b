// Package exchange imports exported messages: JSON lines, from files of any size.
//
//	Outgoing, Exported, Part   the JSON of the lines
//	Remap                      changes times and ids
//	Reader                     reads messages from lines, one by one
//	DryRun                     a dry run
//	Uploads                    files uploaded by a browser, until they are imported
//
// One line is in memory at a time, of at most MaxLine bytes. Bodies larger than PartSize
// are in lines of their own, and never in memory as a whole.
package exchange
