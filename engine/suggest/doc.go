// Package suggest proposes what somebody who writes a query may want to write
// next: keys of the grammar, names of entities, and properties, reasons, texts and
// paths of JSON that messages of the namespace have.
//
// What messages have is known from a sample: a few of them at some places, with a
// few small bodies. It is taken in one short turn of the broker, bodies are read
// beside it, and it is used for a while, so that typing costs next to nothing; where the clock
// stands it is taken each time. What
// is not in the sample can be written all the same.
package suggest
