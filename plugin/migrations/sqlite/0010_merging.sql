-- What each write adds to the indexes of texts is merged beside the writers.
INSERT INTO shop_products_search (shop_products_search, rank) VALUES ('automerge', 0);
INSERT INTO shop_orders_search (shop_orders_search, rank) VALUES ('automerge', 0);
INSERT INTO shop_addresses_search (shop_addresses_search, rank) VALUES ('automerge', 0);
