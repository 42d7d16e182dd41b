// Package intake takes messages in that were exported: JSON, a line each, of files
// that may be of any size.
//
//	Outgoing, Exported, Part   what stands in the lines
//	Remap                      what becomes of times and ids
//	Reader                     messages out of lines, one by one
//	Survey                     what would become of all of them, nothing of which happens
//	Shelf                      files that were sent by a browser, until they are imported
//
// One line is in memory at a time, of at most LargestLine bytes; bodies that are
// larger than PartSize are in lines of their own, and are never in memory whole.
package intake
