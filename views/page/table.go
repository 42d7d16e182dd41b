package page

// A heading is a column of a table that cannot be sorted: the text id of its name, and its class.
type heading struct{ name, class string }
