// Package columns defines the columns of lists of messages: fields of the broker, application
// properties, and values in JSON bodies.
//
//	Column    a column, such as subject, prop.region or json.customer.id
//	Value     a message's value in a column, with its type
//	View      a named set of columns, which all users see
//	Views     returns the views of a namespace, which are stored as settings
//
// Columns have the names of keys in engine/search. Column.Value is a pure function of one
// engine.Row; only json. needs the body, and has no value for bodies longer than MaxBody.
package columns
