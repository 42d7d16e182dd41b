// Package listing says what a list of messages shows of each: any field of the
// broker's, any application property, anything in a body of JSON.
//
//	Column    one of these: subject, prop.region, json.customer.id
//	Value     what a message has there, with its type
//	View      columns under a name, which everybody sees
//	Views     those of a namespace, kept as settings
//
// Columns have the names that engine/search knows things by. A Column is pure, and
// judges one engine.Row as search does; only json. wants the body, and of bodies
// longer than MostBody it tells nothing.
package listing
