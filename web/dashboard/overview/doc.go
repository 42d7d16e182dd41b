// Package overview makes the pages that look at a whole namespace: the overview, the messages that
// expire next, and entities that are deleted when idle.
package overview
