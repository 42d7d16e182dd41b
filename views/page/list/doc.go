// Package list holds tables of messages: their rows, the columns and views that a viewer chooses, the
// actions on selected rows, and the list of deferred messages. The pages of entities, sessions and
// search results contain such a table.
package list
