// Package brokertest opens brokers for tests. A Broker is a broker whose additional methods fail
// the test instead of returning an error:
//
//	b := brokertest.Open(t, broker.Options{})
//	b.CreateQueue("orders", engine.Config{})
//	b.SendMessages("orders", broker.Outgoing{Body: []byte("hello")})
//	if b.Counts("orders").Active != 1 { … }
//
// The store is in memory, and logs are discarded unless the options have a logger. The broker is
// closed when the test ends. An error of closing fails the test.
package brokertest
