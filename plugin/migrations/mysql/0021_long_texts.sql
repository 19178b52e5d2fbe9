-- Long texts are sorted by all of their characters: an index takes only the beginning of a folded text, so
-- another column has the rest. Of the texts that exist the engine folds the rest by its own rules, which are
-- the same for ASCII, until they are written again.

ALTER TABLE shop_products
    -- As long as an index of it with two keys can be.
    MODIFY product_name_fold varchar(763) NOT NULL,
    ADD COLUMN main_image_rest mediumtext NOT NULL DEFAULT ('');
ALTER TABLE shop_orderhistories ADD COLUMN comment_rest mediumtext NOT NULL DEFAULT ('');

UPDATE shop_products SET main_image_rest = lower(substr(main_image, 256))
WHERE char_length(main_image_fold) = 255 AND char_length(main_image) > 255;
UPDATE shop_orderhistories SET comment_rest = lower(substr(comment, 256))
WHERE char_length(comment_fold) = 255 AND char_length(comment) > 255;
