// Package columns determines what a list of messages shows of each: any field of the
// broker's, any application property, any value in a JSON body.
//
//	Column    one of these: subject, prop.region, json.customer.id
//	Value     a message's value in a column, with its type
//	View      columns under a name, which all users see
//	Views     those of a namespace, kept as settings
//
// Columns have the names of engine/search. A Column is pure, and judges one engine.Row as
// search does; only json. needs the body, and has no value for bodies longer than MaxBody.
package columns
