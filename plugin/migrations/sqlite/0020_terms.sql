-- What the indexes of texts contain, as tables, so that it can be compared with the texts while others write.
-- They store nothing.
CREATE VIRTUAL TABLE shop_products_search_terms USING fts5vocab ('shop_products_search', 'instance');
CREATE VIRTUAL TABLE shop_orders_search_terms USING fts5vocab ('shop_orders_search', 'instance');
CREATE VIRTUAL TABLE shop_addresses_search_terms USING fts5vocab ('shop_addresses_search', 'instance');
