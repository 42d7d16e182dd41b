package page

// A Heading is a column of a table that cannot be sorted: the text id of its name, and its class.
type Heading struct{ Name, Class string }
